import json

from openai import OpenAI
from pydantic import BaseModel

import task

client = OpenAI(max_retries=0)


class Result(BaseModel):
    sum: float


def chat(stream):
    functions = [
        {"type": "function", "function": {"name": name, "parameters": task.parameters, "strict": True}} for name in task.tools
    ]
    messages = list(task.question)
    while True:
        asked = {"model": task.model, "messages": messages, "tools": functions}
        if stream:
            with client.chat.completions.stream(**asked) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for one in message.tool_calls:
            result = task.call(one.function.name, json.loads(one.function.arguments))
            messages.append({"role": "tool", "tool_call_id": one.id, "content": result})


def responses(stream):
    functions = [{"type": "function", "name": name, "parameters": task.parameters, "strict": True} for name in task.tools]
    items = list(task.question)
    while True:
        asked = {"model": task.model, "input": items, "tools": functions}
        if stream:
            with client.responses.stream(**asked) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**asked)
        items += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for one in calls:
            output = task.call(one.name, json.loads(one.arguments))
            items.append({"type": "function_call_output", "call_id": one.call_id, "output": output})


def parsed():
    messages = [{"role": "user", "content": task.object_prompt}]
    asked = client.chat.completions.parse(model=task.model, messages=messages, response_format=Result)
    return asked.choices[0].message.parsed.model_dump()


task.answer({
    "tools": lambda: chat(False),
    "tools, streamed": lambda: chat(True),
    "Responses: tools": lambda: responses(False),
    "Responses: tools, streamed": lambda: responses(True),
    "structured output": parsed,
})
