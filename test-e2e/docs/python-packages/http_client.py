"""HTTP as the packages beside this file need it, with what comes with Python alone."""

import json
import urllib.error
import urllib.request


class Model:
    """An object of an answer. Names that the answer leaves out are None when the packages have them."""

    _optional = {"content", "role", "tool_calls", "refusal", "finish_reason", "usage"}

    def __init__(self, members):
        self.__dict__.update(members)

    def __getattr__(self, name):
        if name in Model._optional:
            return None
        raise AttributeError(name)


class APIStatusError(Exception):
    """The answer has a status of 4xx or 5xx. The packages call these errors alike."""

    def __init__(self, status_code, body):
        super().__init__(f"Error code: {status_code} - {body}")
        self.status_code = status_code
        self.body = body


class BadRequestError(APIStatusError):
    pass


class AuthenticationError(APIStatusError):
    pass


class NotFoundError(APIStatusError):
    pass


class RateLimitError(APIStatusError):
    pass


class InternalServerError(APIStatusError):
    pass


errors = {400: BadRequestError, 401: AuthenticationError, 404: NotFoundError, 429: RateLimitError}


def post(url, headers, body):
    """The answer, whose lines can be read as they come."""
    content = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
    request = urllib.request.Request(url, content, {"content-type": "application/json", **headers})
    try:
        return urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        kind = errors.get(error.code, InternalServerError if error.code >= 500 else APIStatusError)
        raise kind(error.code, json.load(error)) from None


def answer_of(response):
    with response:
        return json.load(response, object_hook=Model)


def events_of(response):
    """The data of each event of a stream, until its end or `[DONE]`."""
    with response:
        for line in response:
            name, _, value = line.decode().rstrip("\r\n").partition(":")
            if name != "data":
                continue
            if value.strip() == "[DONE]":
                return
            yield json.loads(value, object_hook=Model)
