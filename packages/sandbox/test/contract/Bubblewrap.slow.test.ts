import { Bubblewrap } from "@effect-rl/sandbox"
import * as Machine from "../Machine.ts"
import { contract } from "./Contract.ts"

contract("bubblewrap", Bubblewrap.layer(), Machine.lacksBubblewrap)
