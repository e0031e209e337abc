/** Asks a model as the `openai` client does. */
export const ask = async (content: string): Promise<string> => {
  const body = JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content }] })
  const headers = { authorization: `Bearer ${process.env["OPENAI_API_KEY"]}` }
  const response = await fetch("https://api.openai.com/v1/chat/completions", { method: "POST", body, headers })
  const { choices: [choice] }: { choices: Array<{ message: { content: string } }> } = JSON.parse(await response.text())
  return choice?.message.content ?? ""
}
