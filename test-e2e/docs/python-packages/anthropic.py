"""
Stands for the package `anthropic`, which tests do not download: it sends what version 1.13.0 sends, and its answers have the names
that pages read. A parameter or a name that the package does not have is an error here too.
"""

from contextlib import contextmanager

from http_client import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
    answer_of,
    events_of,
    post,
)


class Anthropic:
    def __init__(self, *, api_key, base_url, timeout=None, max_retries=2):
        self.messages = Messages(base_url.rstrip("/"), {"x-api-key": api_key, "anthropic-version": "2023-06-01"})


class Messages:
    def __init__(self, base_url, headers):
        self._url = f"{base_url}/v1/messages"
        self._headers = headers

    def create(self, *, max_tokens, messages, model, system=None, temperature=None, tools=None):
        parameters = {name: value for name, value in locals().items() if name != "self"}
        return answer_of(post(self._url, self._headers, parameters))

    @contextmanager
    def stream(self, *, max_tokens, messages, model, system=None, temperature=None, tools=None):
        parameters = {name: value for name, value in locals().items() if name != "self"}
        with post(self._url, self._headers, {**parameters, "stream": True}) as response:
            yield MessageStream(response)


class MessageStream:
    def __init__(self, response):
        self.text_stream = (
            event.delta.text
            for event in events_of(response)
            if event.type == "content_block_delta" and event.delta.type == "text_delta"
        )
