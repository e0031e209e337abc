/** Faults on the wire between a client and a correct server. */
import { Effect, Predicate } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

type Body = Readonly<Record<string, unknown>>
type Request = HttpClientRequest.HttpClientRequest

interface Answer {
  readonly status: number
  readonly body: Body
}

/** Beneath `/api/v1`. */
const pathOf = ({ url }: Request) => url.split("/api/v1")[1] ?? ""

const bodyOf = ({ body }: Request): Body | undefined => {
  if (body._tag !== "Uint8Array" || !body.contentType.includes("json")) return undefined
  const value: unknown = JSON.parse(new TextDecoder().decode(body.body) || "{}")
  return Predicate.isObject(value) ? { ...value } : undefined
}

const withBody = (request: Request, body: Body) =>
  HttpClientRequest.bodyText(request, JSON.stringify(body), "application/json")

/** Changes JSON requests for paths with this prefix, given the body and how often it was sent before. */
export const received =
  (path: string, change: (body: Body, before: number) => Body) => (client: HttpClient.HttpClient) => {
    const counts = new Map<string, number>()
    return HttpClient.mapRequest(client, (request) => {
      const body = pathOf(request).startsWith(path) ? bodyOf(request) : undefined
      if (body === undefined) return request
      const text = JSON.stringify(body)
      const before = counts.get(text) ?? 0
      counts.set(text, before + 1)
      return withBody(request, change(body, before))
    })
  }

/** Reports the path below `/api/v1` and the body of each JSON request. */
export const heard = (tell: (path: string, body: Body) => void) => (client: HttpClient.HttpClient) =>
  HttpClient.mapRequest(client, (request) => {
    const body = bodyOf(request)
    if (body !== undefined) tell(pathOf(request), body)
    return request
  })

/** Sends each request with a different value of the header. */
export const otherHeader = (name: string) => (client: HttpClient.HttpClient) => {
  let count = 0
  return HttpClient.mapRequest(
    client,
    (request) => name in request.headers ? HttpClientRequest.setHeader(request, name, `${count++}`) : request
  )
}

const decoded = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(response.text, (text): Answer => {
    const value: unknown = text === "" ? {} : JSON.parse(text)
    return { status: response.status, body: Predicate.isObject(value) ? { ...value } : {} }
  })

const webResponse = ({ body, status }: Answer) =>
  status === 204
    ? new Response(null, { status })
    : new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })

/** Changes JSON answers for paths with this prefix, given the request body and how often it was sent before. */
export const answered = (path: string, change: (answer: Answer, asked: Body, before: number) => Answer) =>
(
  client: HttpClient.HttpClient
) => {
  const counts = new Map<string, number>()
  return HttpClient.transform(client, (effect, request) => {
    if (!pathOf(request).startsWith(path)) return effect
    return Effect.flatMap(effect, (response) => {
      if (response.headers["content-type"]?.includes("json") !== true) return Effect.succeed(response)
      const asked = bodyOf(request) ?? {}
      const text = JSON.stringify(asked)
      const before = counts.get(text) ?? 0
      counts.set(text, before + 1)
      return Effect.map(
        decoded(response),
        (answer) => HttpClientResponse.fromWeb(request, webResponse(change(answer, asked, before)))
      )
    })
  })
}

/** Answers requests itself, so the server never receives them. */
export const swallowed = (method: string, path: string, status: number) => (client: HttpClient.HttpClient) =>
  HttpClient.transform(client, (effect, request) =>
    request.method === method && pathOf(request).includes(path)
      ? Effect.succeed(HttpClientResponse.fromWeb(request, webResponse({ status, body: {} })))
      : effect)
