"""The limiter's calls, with deadlines, one repetition, and an answer for when no limiter answers."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import grpc
from gateway.limiter.v2 import limit_pb2, limiter_service_pb2, limiter_service_pb2_grpc

# Asks a second time when the connection broke: with the same request id nothing counts twice.
SERVICE_CONFIG = {
    "loadBalancingConfig": [{"round_robin": {}}],
    "methodConfig": [
        {
            "name": [{"service": "gateway.limiter.v2.LimiterService"}],
            "retryPolicy": {
                "maxAttempts": 2,
                "initialBackoff": "0.01s",
                "maxBackoff": "0.01s",
                "backoffMultiplier": 1,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
}


@dataclass(frozen=True)
class Check:
    # What is limited. It belongs to the service that the certificate names.
    key: str
    # Unique per request. A call that is repeated with it takes no second slot.
    request_id: str
    # A limit that is None is not held.
    requests_per_minute: int | None = None
    tokens_per_day: int | None = None


@dataclass(frozen=True)
class Admitted:
    # Requests left in the minute; None when they are not limited.
    remaining_requests: int | None
    # Settle with this day.
    local_day: str


@dataclass(frozen=True)
class Refused:
    limit: str
    # By the clock of the limiter's store: clocks differ, so a service waits by this.
    retry_after_seconds: float


@dataclass(frozen=True)
class Unanswered:
    """No limiter answered in time. Go by a rule of your own: admit, or refuse."""

    reason: str


Decision = Admitted | Refused | Unanswered
Answer = TypeVar("Answer")


class Limiter:
    """One connection to the limiter. Make one for the whole process, and close it at the end."""

    def __init__(
        self,
        address: str,
        credentials: grpc.ChannelCredentials | None = None,
        # A call that hangs is given up after this time, its one repetition included.
        timeout_seconds: float = 0.5,
    ) -> None:
        self._timeout = timeout_seconds
        options = [("grpc.service_config", json.dumps(SERVICE_CONFIG))]
        if credentials is None:
            self._channel = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.secure_channel(address, credentials, options)
        self._service = limiter_service_pb2_grpc.LimiterServiceStub(self._channel)

    def __enter__(self) -> "Limiter":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def admit(self, check: Check) -> Decision:
        """Raises grpc.RpcError when the call itself is wrong."""
        return _ask(lambda: _decision(self._service.Admit(_request(check), timeout=self._timeout)))

    def admit_all(self, checks: Sequence[Check]) -> list[Decision]:
        """Many checks in one message. The decisions are in their order."""
        message = limiter_service_pb2.AdmitStreamRequest(checks=[_request(check) for check in checks])

        def decide() -> list[Decision]:
            stream = self._service.AdmitStream(iter([message]), timeout=self._timeout)
            return [_decision(response) for answer in stream for response in answer.decisions]

        decisions = _ask(decide)
        if isinstance(decisions, Unanswered):
            return [decisions] * len(checks)
        # A limiter that stops ends the stream without an answer.
        return decisions or [Unanswered("the limiter stops")] * len(checks)

    def settle(self, key: str, request_id: str, local_day: str, tokens: int) -> int | Unanswered:
        """Adds what a request used to the day of its admission. Answers what the key used on that day."""
        settlement = limiter_service_pb2.SettleRequest(
            key=key, request_id=request_id, local_day=local_day, tokens=tokens
        )
        return _ask(lambda: int(self._service.Settle(settlement, timeout=self._timeout).used_tokens))


def _ask(call: Callable[[], Answer]) -> Answer | Unanswered:
    try:
        return call()
    except grpc.RpcError as error:
        # Anything else is a mistake of the caller: a key that is too long, a certificate that may not ask.
        if error.code() not in _AWAY:
            raise
        return Unanswered(f"{error.code().name}: {error.details()}")


_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL)


def _request(check: Check) -> limiter_service_pb2.AdmitRequest:
    limits = limit_pb2.Limits(requests_per_minute=check.requests_per_minute, tokens_per_day=check.tokens_per_day)
    return limiter_service_pb2.AdmitRequest(key=check.key, request_id=check.request_id, limits=limits)


def _decision(response: limiter_service_pb2.AdmitResponse) -> Decision:
    status = response.status
    if not response.HasField("refusal"):
        remaining = status.requests.remaining if status.HasField("requests") else None
        return Admitted(remaining_requests=remaining, local_day=status.local_day)
    limit = limit_pb2.LimitName.Name(response.refusal.limit).removeprefix("LIMIT_NAME_").lower()
    return Refused(limit=limit, retry_after_seconds=response.refusal.retry_after_ms / 1_000)
