/** Additional text that the tokenizer should encode in few tokens. */
export const phrases: ReadonlyArray<string> = [
  "You are a helpful assistant.",
  "system\n",
  "Hello! How can I help you today?",
  "Please answer with yes or no. yes no true false",
  "The answer is",
  "Let me think step by step.",
  "Reverse the word. Sort the numbers. Repeat after me. Count the letters.",
  "<think>\n\n</think>\n\n",
  "<tool_call>\n{\"name\": \"\", \"arguments\": {}}\n</tool_call>",
  "User: Assistant: Human: Question: Answer:",
  "correct wrong right not sure because then first next last",
  "I am thinking of a number between 1 and 100. Guess the number. higher lower too high too low",
  "Which of these is better? Explain your reasoning. What do you think?",
  "Alice has three apples and Bob has two. How many do they have together?",
  "Write a short story about the sea, the sun and the wind."
]
