"""
Stands for the package `openai`, which tests do not download: it sends what version 3.22.1 sends, and its answers have the names that
pages read. A parameter or a name that the package does not have is an error here too.
"""

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


class OpenAI:
    def __init__(self, *, api_key, base_url, timeout=None, max_retries=2):
        headers = {"authorization": f"Bearer {api_key}"}
        self.chat = Chat(base_url.rstrip("/"), headers)
        self.responses = Responses(base_url.rstrip("/"), headers)


class Chat:
    def __init__(self, base_url, headers):
        self.completions = Completions(base_url, headers)


class Completions:
    def __init__(self, base_url, headers):
        self._url = f"{base_url}/chat/completions"
        self._headers = headers

    def create(
        self, *, messages, model, stream=None, stream_options=None, max_completion_tokens=None, temperature=None, tools=None
    ):
        parameters = {name: value for name, value in locals().items() if name != "self"}
        try:
            response = post(self._url, self._headers, parameters)
        except APIStatusError as error:
            error.body = error.body.get("error", error.body)
            error.code = error.body.get("code")
            raise
        return events_of(response) if stream else answer_of(response)


class Responses:
    def __init__(self, base_url, headers):
        self._url = f"{base_url}/responses"
        self._headers = headers

    def stream(self, *, input, model, instructions=None, tools=None):
        parameters = {name: value for name, value in locals().items() if name != "self"}
        return ResponseStream(post(self._url, self._headers, {**parameters, "stream": True}))


class ResponseStream:
    def __init__(self, response):
        self._events = events_of(response)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._events.close()

    def __iter__(self):
        return self._events

    def get_final_response(self):
        for event in self._events:
            if event.type == "response.completed":
                parts = [part for item in event.response.output if item.type == "message" for part in item.content]
                event.response.output_text = "".join(part.text for part in parts if part.type == "output_text")
                return event.response
        raise RuntimeError("Didn't receive a `response.completed` event.")
