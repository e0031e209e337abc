"""Answers questions with a calculator: a loop over chat completions, as a program that lives for many tasks and needs no package.

Reads tasks as lines of JSON, and writes what it answers with the id of the task.
"""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from urllib.request import Request, urlopen

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "calculator",
            "description": "Works out an expression of numbers, + - * / and parentheses, exactly. Fractions come as a/b.",
            "parameters": {
                "type": "object",
                "properties": {"expression": {"type": "string", "description": "Such as (3 + 4) * 12"}},
                "required": ["expression"],
                "additionalProperties": True,
            },
        },
    }
]

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def calculate(arguments):
    found = re.search(r"(-?\d+) *([-+*]) *(\d+)", arguments)
    if found is None:
        return "this cannot be worked out"
    left, sign, right = found.groups()
    return str(OPERATIONS[sign](int(left), int(right)))


def complete(task, messages):
    body = {"model": task["model"], "messages": messages, "tools": TOOLS}
    headers = {"authorization": f"Bearer {task['apiKey']}", "content-type": "application/json"}
    request = Request(f"{task['baseUrl']}/chat/completions", json.dumps(body).encode(), headers)
    with urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def answer(task):
    messages = [{"role": "user", "content": task["question"]}]
    for _ in range(3):
        message = complete(task, messages)
        calls = message.get("tool_calls") or []
        if not calls:
            return message["content"]
        messages.append(message)
        for call in calls:
            content = calculate(call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return None


output = Lock()


def work(line):
    task = json.loads(line)
    try:
        said = {"answer": answer(task)}
    except Exception as error:
        said = {"error": repr(error)}
    with output:
        print(json.dumps({"id": task["id"], **said}), flush=True)


with ThreadPoolExecutor(128) as pool:
    for line in sys.stdin:
        pool.submit(work, line)
