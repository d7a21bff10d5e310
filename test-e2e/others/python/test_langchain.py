"""LangChain's standard tests for chat models, with its clients of both providers at the gateway."""

import base64
import os

import httpx
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

url = os.environ["GATEWAY_URL"]
token = os.environ["GATEWAY_TOKEN"]

# The tests read pictures from the Internet. These are the smallest of their kinds.
pictures = {
    "png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
    "jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////"
    "////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/"
    "2gAIAQEAAD8AN//Z",
    "pdf": base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode(),
}

# What a model would understand of a test's question, as the simulated model has to be told.
meanings = {
    "magic_function(": '#tool magic_function {"input": 3}',
    "magic_function_no_args(": "#tool magic_function_no_args {}",
    "weather in San Francisco": '#tool get_weather {"location": "San Francisco"}',
    "你好啊集团": '#tool unicode_customer {"customer_name": "你好啊集团", "description": "d"}',
    "こんにちは株式会社": '#tool unicode_customer {"customer_name": "こんにちは株式会社", "description": "d"}',
}


class WithMeaning:
    def _get_request_payload(self, input_, **rest):
        payload = super()._get_request_payload(input_, **rest)
        last = (payload.get("messages") or payload.get("input"))[-1]
        if last.get("role") == "user" and isinstance(last["content"], str):
            meant = [meaning for words, meaning in meanings.items() if words in last["content"]]
            # Alone, so that the model says nothing before the call: `ChatOpenAI` mixes up the two.
            last["content"] = meant[0] if meant else last["content"]
        return payload


class OpenAIModel(WithMeaning, ChatOpenAI):
    pass


class AnthropicModel(WithMeaning, ChatAnthropic):
    pass


class Standard(ChatModelIntegrationTests):
    supports_image_inputs = True
    supports_image_urls = True

    @pytest.fixture(autouse=True)
    def offline(self, monkeypatch):
        def get(address, **_):
            picture = pictures[str(address).rsplit(".", 1)[-1]]
            return httpx.Response(200, content=base64.b64decode(picture))

        monkeypatch.setattr(httpx, "get", get)


class TestChatOfResponsesPool(Standard):
    chat_model_class = OpenAIModel
    chat_model_params = {"model": "gateway/sterk", "base_url": f"{url}/v1", "api_key": token, "stream_usage": True}
    model_override_value = "gpt-5.5-mini"


class TestChatOfMessagesPool(TestChatOfResponsesPool):
    chat_model_params = {**TestChatOfResponsesPool.chat_model_params, "model": "gateway/claude"}
    model_override_value = "claude-sonnet-5"


class TestResponses(Standard):
    chat_model_class = OpenAIModel
    chat_model_params = {
        "model": "gpt-5.5",
        "base_url": f"{url}/v1",
        "api_key": token,
        "use_responses_api": True,
        "streaming": True,
    }
    model_override_value = "gpt-5.5-mini"
    supports_pdf_inputs = True


class TestMessages(Standard):
    chat_model_class = AnthropicModel
    chat_model_params = {"model": "claude-opus-4-8", "base_url": url, "api_key": token}
    model_override_value = "claude-sonnet-5"
    supports_pdf_inputs = True
    supports_image_tool_message = True
    supports_pdf_tool_message = True
    supports_anthropic_inputs = True
