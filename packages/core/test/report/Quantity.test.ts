import * as Quantity from "@effect-rl/core/report/Quantity"
import { assert, describe, it } from "@effect/vitest"

describe("Quantity", () => {
  const table: ReadonlyArray<readonly [shown: string, expected: string]> = [
    [Quantity.count(0), "0"],
    [Quantity.count(9999), "9999"],
    [Quantity.count(12_345), "12 k"],
    [Quantity.count(1_234_567), "1.2 M"],
    [Quantity.count(2.5e9), "2.5 G"],
    [Quantity.count(NaN), "–"],
    [Quantity.plural(1, "group"), "1 group"],
    [Quantity.plural(0, "group"), "0 groups"],
    [Quantity.bytes(2 ** 20 + 1), "2 MiB"],
    [Quantity.bytes(1.5 * 2 ** 30), "1.50 GiB"],
    [Quantity.percent(0.4904), "49.0 %"],
    [Quantity.percent(0.4904, 0), "49 %"],
    [Quantity.percent(NaN), "–"],
    [Quantity.fixed(0.12345), "0.123"],
    [Quantity.fixed(-0.0001), "0.000"],
    [Quantity.fixed(NaN), "–"],
    [Quantity.dollars(0), "$0.00"],
    [Quantity.dollars(0.00123), "$0.0012"],
    [Quantity.dollars(12.345), "$12.35"],
    [Quantity.dollars(null), "–"],
    [Quantity.age(-1), "0 s"],
    [Quantity.age(59_999), "59 s"],
    [Quantity.age(3_599_999), "59 min"],
    [Quantity.age(86_399_999), "23 h"],
    [Quantity.age(5 * 86_400_000), "5 d"]
  ]

  it.each(table)("writes %s", (shown, expected) => {
    assert.strictEqual(shown, expected)
  })

  it.each([
    [0, "0 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [9940, "9.9 s"],
    [9980, "10 s"],
    [59_700, "1 min 0 s"],
    [119_600, "2 min 0 s"],
    [3_599_700, "1 h 0 min"],
    [7_500_000, "2 h 5 min"],
    [Infinity, "–"],
    [undefined, "–"]
  ])("writes %s milliseconds as %s, rounded before they are divided into units", (milliseconds, text) => {
    assert.strictEqual(Quantity.duration(milliseconds), text)
  })
})
