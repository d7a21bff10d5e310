package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"example.com/limiter-client/limiterv2"
)

// limiter-client 127.0.0.1:50051
//
// Asks for six requests at a limit of five, the first one twice; settles what that one used; decides a batch.
func main() {
	address := "127.0.0.1:50051"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(context.Background(), address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) error {
	connection, err := connect(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	limiter := NewLimiter(connection, readTimeout())
	key := "my-service:" + newID()
	limits := &limiterv2.Limits{RequestsPerMinute: proto.Uint32(5), TokensPerDay: proto.Float64(10_000)}
	var checks, batch []Check
	for range make([]struct{}, 6) {
		checks = append(checks, Check{key, newID(), limits})
	}
	for _, name := range []string{"a", "b", "c"} {
		batch = append(batch, Check{key + ":" + name, newID(), limits})
	}

	first, err := limiter.Admit(ctx, checks[0])
	if err != nil {
		return err
	}
	for _, check := range checks {
		decision, err := limiter.Admit(ctx, check)
		if err != nil {
			return err
		}
		fmt.Println(describe(decision))
	}

	if first.Outcome == Admitted {
		used, err := limiter.Settle(ctx, key, checks[0].RequestID, first.LocalDay, 1_234)
		if err != nil {
			return err
		}
		fmt.Printf("used on %s: %.0f tokens\n", first.LocalDay, used)
	}

	decisions, err := limiter.AdmitAll(ctx, batch)
	if err != nil {
		return err
	}
	for _, decision := range decisions {
		fmt.Println("in a batch: " + describe(decision))
	}
	return nil
}

func describe(decision Decision) string {
	switch decision.Outcome {
	case Admitted:
		return fmt.Sprintf("admitted, %d left", decision.RemainingRequests)
	case Refused:
		seconds := math.Ceil(decision.RetryAfter.Seconds())
		return fmt.Sprintf("refused by %s, free again in %.0f s", decision.Limit, seconds)
	default:
		return "no limiter answered: this service goes by its own rule"
	}
}

func readTimeout() time.Duration {
	milliseconds, err := strconv.Atoi(os.Getenv("LIMITER_TIMEOUT_MS"))
	if err != nil {
		milliseconds = 500
	}
	return time.Duration(milliseconds) * time.Millisecond
}

func newID() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes)
}
