"""
Stands for the package `langchain-openai`, which tests do not download: it sends what the package sends to chat completions, and its
chunks have the names that pages read.
"""

from dataclasses import dataclass

from openai import OpenAI


@dataclass
class AIMessageChunk:
    text: str


class ChatOpenAI:
    def __init__(self, *, model, base_url, api_key, use_responses_api=None):
        if use_responses_api:
            raise NotImplementedError("only chat completions are known here")
        self._model = model
        self._completions = OpenAI(base_url=base_url, api_key=api_key).chat.completions

    def stream(self, text):
        messages = [{"content": text, "role": "user"}]
        for chunk in self._completions.create(model=self._model, messages=messages, stream=True):
            for choice in chunk.choices:
                yield AIMessageChunk(choice.delta.content or "")
