/** Makes property tests draw the same values in every run. */
import { Arbitrary } from "effect"

Arbitrary.configureGlobal({ check: { seed: 1 } })
