module example.com/limiter-client

go 1.22
