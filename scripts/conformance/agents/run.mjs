// Lets clients and agents that others wrote, unmodified and as npm and PyPI have them, talk to a scripted model through a gateway for
// agents. What does not install is skipped, with its reason. With --write the table goes to scripts/conformance/AGENTS.md; with names as
// arguments only these clients run, and --write renews their rows alone. With --prompts only the first feature of each agent runs, and how
// long its prompt is goes to scripts/conformance/PROMPTS.md.
import { readFileSync, writeFileSync } from "node:fs"
import { play } from "./episode.mjs"
import { absent, all as harnesses } from "./harnesses.mjs"
import { all as libraries } from "./libraries.mjs"
import * as Prompts from "./prompts.mjs"

const names = process.argv.slice(2).filter((one) => !one.startsWith("--"))
const chosen = [...libraries, ...harnesses].filter(({ name }) => names.length === 0 || names.includes(name))

/** Refused requests, except expected refusals and a probe whose answer no client needs. */
const refusals = ({ seen }, { isRefused = () => false }) =>
  seen.filter((one) => one.status >= 400 && one.method !== "HEAD" && !isRefused(one)).map((
    { answer, method, path, status }
  ) => `${method} ${path} was answered ${status}: ${answer.slice(0, 300)}`)

const problemsOf = (feature, episode) => {
  const { captured, error, unanswered } = episode
  const own = error === undefined ? feature.problem(episode) : error.message
  return [
    ...(own === undefined ? [] : [own]),
    ...refusals(episode, feature),
    ...captured,
    ...(feature.isCut === true ? [] : unanswered)
  ]
}

const counted = (branches) => Object.entries(branches).map(([reason, count]) => `${reason} ${count}`).join(", ")

const tokensOf = (log) => log.reduce((sum, { sampled }) => sum + sampled.tokens.length, 0)

/** Runs one feature and returns the cells of its row. */
const tried = async (feature) => {
  try {
    const episode = await play(feature)
    const { branches, log, seen } = episode
    const problems = problemsOf(feature, episode)
    for (const problem of problems) console.error(`  ${feature.name}: ${problem}`)
    if (process.env.CONFORMANCE_SEEN !== undefined) {
      writeFileSync(
        `${process.env.CONFORMANCE_SEEN}/${feature.name.replaceAll(/\W+/g, "-")}.json`,
        JSON.stringify(episode.seen)
      )
    }
    return [
      problems.length === 0 ? `passed${feature.note?.(episode) ?? ""}` : `failed: ${problems[0]}`,
      seen.length,
      log.length,
      tokensOf(log),
      counted(branches)
    ]
  } catch (error) {
    return [`failed: ${error.message}`, "", "", "", ""]
  } finally {
    feature.close?.()
  }
}

const cell = (value) => String(value).replaceAll(/\s+/g, " ").replaceAll("|", "\\|").slice(0, 200)
const row = (...cells) => `| ${cells.map(cell).join(" | ")} |`

/** The rows of a client, one feature after another. */
const rowsOf = async ({ name, open }) => {
  const rows = []
  try {
    const { features, version } = await open()
    for (const feature of features) {
      rows.push(row(`${name} ${version}`, feature.name, ...(await tried(feature))))
      console.error(rows.at(-1))
    }
  } catch (error) {
    rows.push(row(name, "all", `skipped: ${error.message}`, "", "", "", ""))
  }
  return rows
}

/** Maximum number of clients that run at the same time. */
const concurrency = 4

/** The results of `open` for each client, in order. */
const each = async (clients, open) => {
  const found = new Map()
  const left = [...clients]
  const work = async () => {
    for (let client = left.shift(); client !== undefined; client = left.shift()) found.set(client, await open(client))
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return clients.flatMap((client) => found.get(client))
}

const today = new Date().toISOString().slice(0, 10)
const page = "scripts/conformance/AGENTS.md"

if (process.argv.includes("--prompts")) {
  const rows = await each(harnesses.filter(({ name }) => names.length === 0 || names.includes(name)), Prompts.of)
  const text = Prompts.page(today, rows)
  console.log(text)
  writeFileSync("scripts/conformance/PROMPTS.md", text)
  process.exit(0)
}

const rows = await each(chosen, rowsOf)
if (names.length === 0) {
  for (const [name, reason] of absent) rows.push(row(name, "all", `not run: ${reason}`, "", "", "", ""))
}

/** The client of a row, without its version. */
const clientOf = (line) => {
  const client = line.split(" | ")[0].slice(2)
  const isKnown = [...libraries, ...harnesses, ...absent.map(([name]) => ({ name }))].some(({ name }) =>
    name === client
  )
  return isKnown ? client : client.replace(/ \S+$/, "")
}

/** The rows of the committed page, with the rows of the clients of this run replaced. */
const renewed = () => {
  const before = readFileSync(page, "utf8").split("\n").filter((line) => line.startsWith("| ")).slice(2)
  const order = [...[...libraries, ...harnesses].map(({ name }) => name), ...absent.map(([name]) => name)]
  return order.flatMap((name) => (names.includes(name) ? rows : before).filter((line) => clientOf(line) === name))
}

/** A sentence with the date of the last whole run and of later runs of single clients. */
const when = () => {
  if (names.length === 0) return `Run on ${today}`
  const [, whole, since = ""] = /^Run on (\S+)( and, of these clients, .*)?$/m.exec(readFileSync(page, "utf8")) ?? []
  return `Run on ${whole}${since === "" ? " and, of these clients," : `${since},`} ${names.join(", ")} on ${today}`
}

const head = ["client", "feature", "result", "requests", "turns", "sampled tokens", "branches"]
const table = (lines) => [row(...head), row(...head.map(() => "---")), ...lines].join("\n")
console.log(table(rows))

if (process.argv.includes("--write")) {
  const text = `# Agents and clients against a gateway

${when()}
by \`npm run conformance:agents -- --write\`: Node ${process.version}, ${process.platform}. Clients are unmodified, in their newest
versions of npm and PyPI. Each talks to a session of an \`AgentGateway\`, over HTTP on loopback and through a proxy that keeps what was asked
and answered; the model says what a script says, by the renderer \`qwen3_instruct\`. Libraries calculate with two tools, of which the model
calls two at once and then one with their results; agents read a file and write another one, in a folder and with a home of their own.

*Passed* means: the client got the right answer, no request was refused (apart from what a row is about), each sampled token is in a turn,
after its own prompt and with its own log-probability by the sampler's own log, and every sampled call has a result in a later prompt.
*Branches* counts the turns that do not continue the one before, by reason. Claude Code also asks \`HEAD /api/hello\`, which is answered 404
and which it needs not.

${table(names.length === 0 ? rows : renewed())}
`
  writeFileSync(page, text)
}
process.exit(rows.some((one) => one.includes("| failed")) ? 1 : 0)
