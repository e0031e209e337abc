import { Sandbox } from "@effect-rl/sandbox"
import * as Machine from "../Machine.ts"
import { contract } from "./Contract.ts"

contract("Docker", Sandbox.Sandbox.layerDocker(), Machine.lacksDocker)
