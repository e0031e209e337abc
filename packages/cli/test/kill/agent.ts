/** An agent that sends one request to its model, both as an in-process function and as a program that prints the answer. */

interface Place {
  readonly baseUrl: string
  readonly fetch: typeof globalThis.fetch
}

export const answer = async ({ baseUrl, fetch }: Place, model: string, question: string) => {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: question }] })
  const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", body })
  // Returns only the content: the rest of the body differs between runs, because it contains a creation time.
  return /"content":"([^"]*)"/.exec(await response.text())?.[1] ?? ""
}

if (import.meta.main) {
  const { OPENAI_BASE_URL: baseUrl = "" } = process.env
  const [, , model = "", question = ""] = process.argv
  console.log(await answer({ baseUrl, fetch }, model, question))
}
