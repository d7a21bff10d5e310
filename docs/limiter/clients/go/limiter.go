// Package main holds a key to its limits: the limiter's calls, with deadlines, one repetition, and an answer for when no
// limiter answers.
package main

import (
	"context"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/limiter-client/limiterv2"
)

// Asks a second time when the connection broke: with the same request id nothing counts twice.
const serviceConfig = `{
	"loadBalancingConfig": [{"round_robin": {}}],
	"methodConfig": [{
		"name": [{"service": "gateway.limiter.v2.LimiterService"}],
		"retryPolicy": {
			"maxAttempts": 2,
			"initialBackoff": "0.01s",
			"maxBackoff": "0.01s",
			"backoffMultiplier": 1,
			"retryableStatusCodes": ["UNAVAILABLE"]
		}
	}]
}`

// Check is one request that is to be admitted.
type Check struct {
	// What is limited. It belongs to the service that the certificate names.
	Key string
	// Unique per request. A call that is repeated with it takes no second slot.
	RequestID string
	// A limit that is left out is not held.
	Limits *limiterv2.Limits
}

// Outcome says which of three a decision is.
type Outcome int

const (
	Admitted Outcome = iota
	Refused
	// Unanswered: no limiter answered in time. Go by a rule of your own: admit, or refuse.
	Unanswered
)

// Decision is what became of a Check.
type Decision struct {
	Outcome Outcome
	// Admitted: requests left in the minute; 0 when they are not limited.
	RemainingRequests uint32
	// Admitted: settle with this day.
	LocalDay string
	// Refused: by which limit, and after how long the same request can be admitted.
	Limit      string
	RetryAfter time.Duration
	// Unanswered: why.
	Reason error
}

// Limiter asks over one connection, which the caller closes.
type Limiter struct {
	service limiterv2.LimiterServiceClient
	// A call that hangs is given up after this time, its one repetition included.
	timeout time.Duration
}

func NewLimiter(connection grpc.ClientConnInterface, timeout time.Duration) *Limiter {
	return &Limiter{limiterv2.NewLimiterServiceClient(connection), timeout}
}

// Admit fails when the call itself is wrong.
func (l *Limiter) Admit(ctx context.Context, check Check) (Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	response, err := l.service.Admit(ctx, toRequest(check))
	if err != nil {
		return unanswered(err)
	}
	return toDecision(response), nil
}

// AdmitAll sends many checks in one message. The decisions are in their order.
func (l *Limiter) AdmitAll(ctx context.Context, checks []Check) ([]Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	decisions := make([]Decision, len(checks))
	responses, err := l.decide(ctx, checks)
	if err != nil {
		away, mistake := unanswered(err)
		for n := range decisions {
			decisions[n] = away
		}
		return decisions, mistake
	}
	for n, response := range responses {
		decisions[n] = toDecision(response)
	}
	return decisions, nil
}

func (l *Limiter) decide(ctx context.Context, checks []Check) ([]*limiterv2.AdmitResponse, error) {
	stream, err := l.service.AdmitStream(ctx)
	if err != nil {
		return nil, err
	}
	request := &limiterv2.AdmitStreamRequest{}
	for _, check := range checks {
		request.Checks = append(request.Checks, toRequest(check))
	}
	// Send fails with io.EOF when the stream has ended; Recv says why.
	if err := stream.Send(request); err != nil && err != io.EOF {
		return nil, err
	}
	_ = stream.CloseSend()
	answer, err := stream.Recv()
	if err == io.EOF {
		return nil, status.Error(codes.Unavailable, "the limiter stops")
	}
	if err != nil {
		return nil, err
	}
	return answer.GetDecisions(), nil
}

// Settle adds what a request used to the day of its admission. It answers what the key used on that day.
func (l *Limiter) Settle(ctx context.Context, key, requestID, localDay string, tokens float64) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	response, err := l.service.Settle(ctx, &limiterv2.SettleRequest{
		Key: key, RequestId: requestID, LocalDay: localDay, Tokens: tokens,
	})
	return response.GetUsedTokens(), err
}

// unanswered separates a limiter that is away from a mistake of the caller: a key that is too long, a certificate that may not ask.
func unanswered(err error) (Decision, error) {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal:
		return Decision{Outcome: Unanswered, Reason: err}, nil
	default:
		return Decision{}, err
	}
}

func toRequest(check Check) *limiterv2.AdmitRequest {
	return &limiterv2.AdmitRequest{Key: check.Key, RequestId: check.RequestID, Limits: check.Limits}
}

func toDecision(response *limiterv2.AdmitResponse) Decision {
	refusal, requests := response.GetRefusal(), response.GetStatus().GetRequests()
	if refusal == nil {
		return Decision{
			Outcome:           Admitted,
			RemainingRequests: requests.GetRemaining(),
			LocalDay:          response.GetStatus().GetLocalDay(),
		}
	}
	return Decision{
		Outcome:    Refused,
		Limit:      strings.ToLower(strings.TrimPrefix(refusal.GetLimit().String(), "LIMIT_NAME_")),
		RetryAfter: time.Duration(refusal.GetRetryAfterMs()) * time.Millisecond,
	}
}
