import json
import os

import litellm

import task

functions = [{"type": "function", "function": {"name": name, "parameters": task.parameters}} for name in task.tools]


def loop(provider, **more):
    messages = list(task.question)
    while True:
        asked = litellm.completion(model=f"{provider}/{task.model}", messages=messages, tools=functions, num_retries=0, **more)
        message = litellm.stream_chunk_builder(list(asked)).choices[0].message if more.get("stream") else asked.choices[0].message
        messages.append(message.model_dump())
        if not message.tool_calls:
            return message.content
        for one in message.tool_calls:
            result = task.call(one.function.name, json.loads(one.function.arguments))
            messages.append({"role": "tool", "tool_call_id": one.id, "content": result})


anthropic = {"api_base": os.environ["ANTHROPIC_BASE_URL"], "max_tokens": 1000}
task.answer({
    "openai: tools": lambda: loop("openai"),
    "openai: tools, streamed": lambda: loop("openai", stream=True),
    "hosted_vllm: tools": lambda: loop("hosted_vllm", api_base=os.environ["OPENAI_BASE_URL"]),
    "anthropic: tools": lambda: loop("anthropic", **anthropic),
    "anthropic: tools, streamed": lambda: loop("anthropic", stream=True, **anthropic),
})
