import { type RunRecord, RunStore } from "@effect-rl/core"
import { TestTokenizer } from "@effect-rl/core/testing"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Recorded from "../Recorded.ts"
import * as Served from "../server/Served.ts"
import { at, Browser, eventually, isMissing } from "./Browser.ts"

describe.skipIf(isMissing)("the page of a run", () => {
  layer(Browser.layer, { excludeTestServices: true })((it) => {
    it.effect("shows the run's learning, health, cost and current activity", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("completed", { exact: true }).waitFor()
          const panel = (name: string) => page.getByRole("region", { name, exact: true })
          await eventually(async () => assert.strictEqual(await page.locator("circle.point").count(), 2))
          await eventually(async () => assert.strictEqual(await page.locator("g.evaluation").count(), 1))
          await eventually(async () => assert.strictEqual(await page.locator("svg.shares g.column").count(), 2))
          await eventually(async () =>
            assert.match((await panel("Time").textContent()) ?? "", /bottleneck|between the stages/)
          )
          await panel("Time").getByText(
            "for the policy 53.0 % of the time, for their environments 26.5 %, for their rewards 20.5 %"
          ).waitFor()
          await eventually(async () =>
            assert.deepStrictEqual(await panel("Time").locator("svg.timeline .lane").allTextContents(), [
              "in flight",
              "environments",
              "judges",
              "sampling",
              "training",
              "evaluation"
            ])
          )
          await page.getByRole("region", { name: "verdict" }).getByText(
            /Too early to tell: reward 0\.750 → 0\.875 in 2 iterations/
          ).waitFor()
          await panel("Warnings and events").getByText("the disk is nearly full").waitFor()
          await eventually(async () =>
            assert.match(
              (await panel("Health, iteration 2").textContent()) ?? "",
              /optim\/entropy0\.005✗ outside since iteration 1/
            )
          )
          await eventually(async () =>
            assert.match((await page.locator(".tiles").textContent()) ?? "", /signs of health1 of \d+entropy/)
          )
          await panel("Health, iteration 2").getByText("All metrics").click()
          await page.getByRole("table", { name: "all metrics" }).getByRole("row", { name: "optim/lr" })
            .getByText("Learning rate").waitFor()
          const failures = async () => (await panel("Failures by reason").textContent()) ?? ""
          await eventually(async () => assert.match(await failures(), /retried11/))
          await eventually(async () => assert.match(await failures(), /TimedOut2/))
          await eventually(async () => assert.match((await panel("Cost").textContent()) ?? "", /all tokens60.*cap100/))
          await panel("Cost").getByText("This run was given no prices").waitFor()
        })
      }))

    it.effect("shows dollars if the run recorded them", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/priced`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append(Recorded.opened(-1))
          yield* store.append(Recorded.updated(0, 0.5, {}, { spent: 1.5, expected: 4.5 }))
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          const cost = page.getByRole("table", { name: "cost" })
          await cost.getByRole("row", { name: "all tokens 60 $1.50" }).waitFor()
          await cost.getByRole("row", { name: "forecast 60 $4.50" }).waitFor()
          await page.locator(".tiles").getByText("60 ($1.50)").waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("names the cap that was set, in tokens or in dollars", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/capped`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append({ ...Recorded.opened(-1), settings: { max_dollars: 4 } })
          yield* store.append(Recorded.updated(0, 0.5, {}, { spent: 1.5, expected: 4.5 }))
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          await page.locator(".tiles").getByText(/cap \$4\.00/).waitFor()
          assert.strictEqual(await page.getByText("no cap").count(), 0)
          await page.getByRole("table", { name: "cost" }).getByRole("row", { name: "cap – $4.00" }).waitFor()
          await page.getByText("Its cap of 4 dollars will stop it before.").waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("shows what changed since the previous iteration", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/changed`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append(Recorded.opened(-1))
          yield* store.append(Recorded.updated(0, 0.5, { "env/all/response_tokens/p50": 10 }))
          yield* store.append(
            Recorded.updated(1, 0.25, { "env/all/truncated": 0.5, "env/all/response_tokens/p50": 15 })
          )
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "iteration", run, iteration: 2 }), async (page) => {
          const rows = page.getByRole("table", { name: "Changes since iteration 1" }).getByRole("row")
          await eventually(async () =>
            assert.deepStrictEqual((await rows.allTextContents()).slice(1), [
              "reward0.50.25-0.25 (-50.0 %)",
              "env/all/truncated00.5+0.5",
              "env/all/response_tokens/p501015+5 (+50.0 %)"
            ])
          )
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("shows the loss instead of rewards and groups for a run without rewards", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/supervised`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append(Recorded.opened(-1))
          for (const [iteration, nll] of [0.5, 0.4, 0.25].entries()) {
            const spent = { prefilled: 0, sampled: 0, trained: 100 }
            const metrics = { nll, "tokens/trained": 100 }
            yield* store.append({ _tag: "Updated", iteration, metrics, updates: [], spent })
          }
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          await page.locator(".tiles").getByText("0.5 in iteration 1").waitFor()
          await page.getByRole("region", { name: "nll", exact: true }).locator("p.told").getByText("iteration 3: 0.25")
            .waitFor()
          await page.getByRole("table", { name: "iterations" }).getByRole("row", { name: "2 0.4 100 0" }).waitFor()
          assert.strictEqual(await page.getByRole("region", { name: "Signal of groups" }).count(), 0)
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("shows evaluator measurements of supervised and preference runs, and no groups", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const spent = { prefilled: 0, sampled: 0, trained: 100 }
        const write = (
          name: string,
          measured: (iteration: number) => Pick<RunRecord.Evaluated, "metrics" | "score">,
          trained: (iteration: number) => Record<string, number>
        ) =>
          Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            yield* store.append(Recorded.opened(-1))
            for (const iteration of [0, 1, 2]) {
              const { reward: _, score: _score, ...evaluated } = Recorded.evaluated(iteration, 0)
              yield* store.append({ ...evaluated, ...measured(iteration) })
              yield* store.append({ _tag: "Updated", iteration, metrics: trained(iteration), updates: [], spent })
            }
          }).pipe(Effect.provide(RunDirectory.layer(`${folder}/${name}`)))
        yield* write(
          "supervised",
          (iteration) => ({ metrics: { "held_out/nll": 2 - iteration / 2 } }),
          (iteration) => ({ nll: 1 - iteration / 4 })
        )
        yield* write(
          "preferred",
          (iteration) => ({
            metrics: { "held_out/margin": iteration },
            score: { value: 0.75, low: 0.5, high: 1 }
          }),
          (iteration) => ({ "dpo/margin": iteration / 4 })
        )
        const { visit } = yield* Browser
        const url = yield* Served.serve(folder)
        yield* visit(at(url, { at: "run", run: `${folder}/supervised` }), async (page) => {
          await page.getByRole("table", { name: "evaluations" }).getByRole("row", { name: "held_out 1 1.500 – – – 0" })
            .waitFor()
          await eventually(async () => assert.strictEqual(await page.locator("g.evaluation").count(), 3))
        })
        yield* visit(at(url, { at: "iteration", run: `${folder}/supervised`, iteration: 2 }), async (page) => {
          await page.getByText("nll 0.75, 0 updates").waitFor()
          assert.strictEqual(await page.getByText("No group is rolled out yet").count(), 0)
        })
        yield* visit(
          at(url, { at: "iteration", run: `${folder}/preferred`, iteration: 2, evaluator: "held_out" }),
          async (page) => {
            await page.getByText("margin 2.000 nats, 75.0 % correct").waitFor()
          }
        )
        yield* visit(at(url, { at: "runs" }), async (page) => {
          await page.getByRole("row", { name: /supervised.* 1\.000 nats/ }).waitFor()
          await page.getByRole("row", { name: /preferred.* 2\.000 nats/ }).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("starts a distillation's screen with the divergence from the teacher, and lists its groups", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/distilled`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append(Recorded.opened(-1))
          for (const [iteration, teacher_kl] of [1, 0.5, 0.25].entries()) {
            yield* store.append(Recorded.simple(iteration, `${iteration}/sum`))
            yield* store.append(Recorded.updated(iteration, 0, { teacher_kl }))
          }
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          await page.getByRole("region", { name: "teacher_kl", exact: true }).locator("p.told")
            .getByText("iteration 3: 0.25").waitFor()
          await page.getByRole("table", { name: "iterations" }).getByRole("row", { name: "2 0.5 0.000 0.100 1" })
            .waitFor()
          await page.getByRole("region", { name: "Signal of groups" }).waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("names metrics that drifted since the first iterations, and what to do", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/drifting`
        yield* Effect.gen(function*() {
          const store = yield* RunStore.RunStore
          yield* store.append(Recorded.opened(-1))
          for (let iteration = 0; iteration < 10; iteration++) {
            const length = { "env/all/response_tokens/p50": iteration < 5 ? 10 : 40 }
            yield* store.append(Recorded.updated(iteration, 0.5, length))
          }
        }).pipe(Effect.provide(RunDirectory.layer(run)))
        const { visit } = yield* Browser
        yield* visit(at(yield* Served.serve(folder), { at: "run", run }), async (page) => {
          const row = page.getByRole("table", { name: "health" }).getByRole("row", { name: "drift/response_tokens" })
          await eventually(async () =>
            assert.match((await row.textContent()) ?? "", /4✗ outside0\.5 to 2.*read long and short answers/)
          )
          await page.locator(".tiles").getByText("1 of 2").waitFor()
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("filters groups by reward, verdict, tag, outcome, stop reason and length", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "iteration", run, iteration: 1 }), async (page) => {
          const shown = (expected: ReadonlyArray<string>) =>
            eventually(async () =>
              assert.deepStrictEqual(
                await page.locator("table[aria-label=groups] td a").allTextContents(),
                expected
              )
            )
          await shown(["0/mixed", "0/good", "0/rough"])
          await page.getByRole("button", { name: "1 0.25" }).click()
          await shown(["0/rough"])
          await page.getByRole("link", { name: "clear" }).click()
          await page.getByRole("link", { name: "all good 1" }).click()
          await shown(["0/good"])
          await page.getByRole("link", { name: "clear" }).click()
          for (
            const [label, value, expected] of [
              ["tag", "carry", ["0/rough"]],
              ["outcome", "Completed", ["0/mixed", "0/good"]],
              ["stopped by", "max_turns", ["0/rough"]]
            ] as const
          ) {
            await page.getByRole("navigation", { name: "filter" }).getByLabel(label).selectOption(value)
            await shown(expected)
            await page.getByRole("link", { name: "clear" }).click()
            await shown(["0/mixed", "0/good", "0/rough"])
          }
          await page.getByLabel("tokens from").fill("5")
          await page.keyboard.press("Tab")
          await shown(["0/rough"])
          await page.getByRole("link", { name: "clear" }).click()
          await page.getByLabel("to", { exact: true }).fill("1")
          await page.keyboard.press("Tab")
          await page.getByText("No group passes the filter.").waitFor()
        })
      }))

    it.effect("shows what another credit rule would change", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "iteration", run, iteration: 1 }), async (page) => {
          await page.getByLabel("advantages by").selectOption("leave_one_out")
          await page.getByText("2 of 3 groups would be trained on, 2 were; the advantages of 2 would change.").waitFor()
          await page.getByText("+1 -1").first().waitFor()
        })
      }))

    it.effect("shows exact tokens, coloured by each of four values, with all data about a token", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: Recorded.first.mixed, member: 1, tokens: "true" }
        yield* visit(at(url, place), async (page) => {
          const tokens = page.locator(".token-view .token")
          await tokens.first().waitFor()
          await eventually(async () => assert.deepStrictEqual(await tokens.allTextContents(), ["<|im_end|>", "five"]))
          await eventually(async () => assert.deepStrictEqual(await page.locator(".token-view .special").count(), 1))
          const classOf = (colour: string) =>
            page.getByLabel("colour by").selectOption(colour).then(() => tokens.last().getAttribute("class"))
          await eventually(async () => assert.include(await classOf("logprob"), "shade-2"))
          await eventually(async () => assert.include(await classOf("advantage"), "loss-4"))
          await eventually(async () => assert.include(await classOf("mask"), "gain-2"))
          await page.getByLabel("colour by").selectOption("gap")
          await page.getByText("did not record the trainer's log-probabilities").first().waitFor()

          await page.goto(at(url, { ...place, iteration: 2, group: Recorded.second.mixed, colour: "gap" }))
          await page.locator(".token-view .token.shade-4").waitFor()
          await page.goto(at(url, place))

          await tokens.last().click()
          const microscope = page.getByRole("group", { name: "token microscope of turn 0" })
          await microscope.getByText("the token's term of ppo").waitFor()
          await eventually(async () =>
            assert.match((await microscope.textContent()) ?? "", /advantage-0\.5.*ratio1\.000.*clippedno.*0\.5000/)
          )
          await microscope.getByLabel("loss").selectOption("cispo")
          await microscope.getByText("-1.2500").waitFor()
        })
      }))

    it.effect("shows reasoning and tool calls separately from the answer", () =>
      Effect.gen(function*() {
        const fs = yield* FileSystem.FileSystem
        const folder = yield* fs.makeTempDirectoryScoped()
        const run = `${folder}/said`
        const text =
          "<think>\n2 and 3\n</think>\n\nfive\n<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call><|im_end|>"
        yield* Recorded.writeSaid(run, "qwen3", [...TestTokenizer.characters.encode(text)])
        const { visit } = yield* Browser
        const url = yield* Served.serve(folder, { known: TestTokenizer.layer() })
        yield* visit(at(url, { at: "member", run, iteration: 1, group: 1, member: 0 }), async (page) => {
          const turn = page.getByRole("region", { name: "Turn 0" })
          await turn.getByText("thinking", { exact: true }).waitFor()
          await turn.getByText("The prompt, rendered again from these messages, differs at token 0 of 3").waitFor()
          await page.locator(".standing").getByText("What is 2 + 3?").waitFor()
          await eventually(async () =>
            assert.deepStrictEqual(await turn.locator("dl.logs dt").allTextContents(), [
              "user",
              "thinking",
              "answer",
              "call of a tool",
              "reference"
            ])
          )
          await eventually(async () =>
            assert.deepStrictEqual((await turn.locator("dl.logs dd").allTextContents()).slice(1, 4), [
              "7 characters2 and 3",
              "five",
              "add({})"
            ])
          )
          const clipboard = "{ value: { writeText: (text) => { document.title = text } } }"
          await page.evaluate(`Object.defineProperty(navigator, "clipboard", ${clipboard})`)
          await page.getByRole("button", { name: "copy as OpenAI's messages" }).click()
          await eventually(async () =>
            assert.deepStrictEqual(JSON.parse(await page.title()), {
              messages: [
                { role: "user", content: "What is 2 + 3?" },
                {
                  role: "assistant",
                  content: "five\n",
                  reasoning_content: "2 and 3",
                  tool_calls: [{ id: "call_0", type: "function", function: { name: "add", arguments: "{}" } }]
                }
              ]
            })
          )
        })
      }).pipe(Effect.provide(NodeServices.layer)))

    it.effect("marks the first token at which members differ", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { at: "group", run, iteration: 1, group: Recorded.first.rough, tokens: "true" }
        yield* visit(at(url, place), async (page) => {
          await page.locator("article.member .departs").waitFor()
          await eventually(async () =>
            assert.deepStrictEqual(await page.locator(".departs").allTextContents(), ["five"])
          )
          await eventually(async () =>
            assert.strictEqual(await page.locator("article.member", { hasText: "dropped" }).count(), 1)
          )
          await page.locator("article.member .departs").click()
          await page.getByRole("group", { name: /^token microscope of turn/ }).getByText("five", { exact: true })
            .waitFor()
        })
      }))

    it.effect("shows when a member waited for the policy, its environment and its reward", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: Recorded.first.rough, member: 1 }
        yield* visit(at(url, place), async (page) => {
          await page.getByText("policy 400 ms · environment 1.2 s").waitFor()
          const lanes = page.getByRole("region", { name: "Time" })
          await eventually(async () =>
            assert.deepStrictEqual(await lanes.locator("rect title").allTextContents(), [
              "turn 0, policy: 400 ms",
              "turn 0, environment: 1.2 s",
              "turn 1, policy: 200 ms",
              "turn 1, environment: 0 ms",
              "rewards: 600 ms"
            ])
          )
          await page.keyboard.press("Escape")
          await lanes.getByText("member 1").waitFor()
        })
      }))

    it.effect("names the groups that an audit suspects, with the reason, and links to them", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        yield* visit(at(url, { at: "run", run }), async (page) => {
          await page.getByText("iteration 2: quarantined 1 of 3 groups, tampering: a text asks for a score").waitFor()
          await page.goto(at(url, { at: "iteration", run, iteration: 2 }))
          await page.getByRole("navigation", { name: "filter" }).getByLabel("training").selectOption("quarantined")
          await page.getByRole("link", { name: "1/good" }).click()
          await page.getByRole("region", { name: "Quarantined" }).getByText("tampering: a text asks for a score")
            .waitFor()
          await page.goto(at(url, { at: "iteration", run, iteration: 0 }))
          await page.getByRole("link", { name: "0/good" }).click()
          await page.getByText("Left out of the update (no signal): all rewards are equal.").waitFor()
          assert.strictEqual(await page.getByRole("region", { name: "Quarantined" }).count(), 0)
        })
      }))

    it.effect("replays a rollout, and shows the graders' metrics", () =>
      Effect.gen(function*() {
        const { run, url } = yield* Served.start
        const { visit } = yield* Browser
        const place = { at: "member", run, iteration: 1, group: Recorded.first.rough, member: 1 }
        yield* visit(at(url, place), async (page) => {
          await eventually(async () =>
            assert.match((await page.getByRole("region", { name: "Grading" }).textContent()) ?? "", /judge_score2\.5/)
          )
          await page.getByText("Replay").click()
          await page.getByLabel("tokens shown").fill("2")
          await page.getByText("2 of 8 tokens; 200 ms of 1.8 s").waitFor()
          await eventually(async () =>
            assert.strictEqual(await page.locator(".replay pre").textContent(), "<|im_end|>five")
          )
          await page.getByLabel("speed").selectOption("32")
          await page.getByRole("button", { name: "play" }).click()
          await page.getByText("8 of 8 tokens").waitFor()
        })
      }))
  })
})
