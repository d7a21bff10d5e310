"""python main.py 127.0.0.1:50051

Asks for six requests at a limit of five, the first one twice; settles what that one used; decides a batch.
"""

import math
import os
import sys
from pathlib import Path
from uuid import uuid4

import grpc
from limiter import Admitted, Check, Decision, Limiter, Refused, Unanswered


def main(address: str) -> None:
    key = f"my-service:{uuid4()}"
    limits = {"requests_per_minute": 5, "tokens_per_day": 10_000}
    checks = [Check(key, str(uuid4()), **limits) for _ in range(6)]
    timeout_seconds = int(os.environ.get("LIMITER_TIMEOUT_MS", "500")) / 1_000
    with Limiter(address, read_credentials(), timeout_seconds) as limiter:
        first = limiter.admit(checks[0])
        for check in checks:
            print(describe(limiter.admit(check)))

        if isinstance(first, Admitted):
            used = limiter.settle(key, checks[0].request_id, first.local_day, tokens=1_234)
            unsettled = isinstance(used, Unanswered)
            print(f"not settled: {used.reason}" if unsettled else f"used on {first.local_day}: {used} tokens")

        batch = [Check(f"{key}:{name}", str(uuid4()), **limits) for name in ("a", "b", "c")]
        for decision in limiter.admit_all(batch):
            print(f"in a batch: {describe(decision)}")


def describe(decision: Decision) -> str:
    match decision:
        case Admitted(remaining_requests=remaining):
            return f"admitted, {remaining} left"
        case Refused(limit=limit, retry_after_seconds=seconds):
            return f"refused by {limit}, free again in {math.ceil(seconds)} s"
        case Unanswered():
            return "no limiter answered: this service goes by its own rule"


def read_credentials() -> grpc.ChannelCredentials | None:
    """The same variables as those of the gateway's services."""
    files = [os.environ.get(name) for name in ("TLS_CA_FILE", "TLS_KEY_FILE", "TLS_CERT_FILE")]
    if not all(files):
        return None
    ca, key, certificate = (Path(file).read_bytes() for file in files)
    return grpc.ssl_channel_credentials(ca, key, certificate)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:50051")
