package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// connect opens one connection to the limiter, for the whole process. It speaks TLS when the variables are set that the
// gateway's own services have.
func connect(address string) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if os.Getenv("TLS_CA_FILE") != "" {
		config, err := readTLS(os.Getenv("TLS_CA_FILE"), os.Getenv("TLS_CERT_FILE"), os.Getenv("TLS_KEY_FILE"))
		if err != nil {
			return nil, err
		}
		transport = credentials.NewTLS(config)
	}
	return grpc.NewClient(address, grpc.WithTransportCredentials(transport), grpc.WithDefaultServiceConfig(serviceConfig))
}

func readTLS(caFile, certFile, keyFile string) (*tls.Config, error) {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(ca) {
		return nil, errors.New(caFile + " holds no certificate")
	}
	own, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}, nil
}
