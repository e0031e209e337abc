import { Sandbox } from "@effect-rl/sandbox"
import { Layer } from "effect"
import { lacks, ScriptedDaemon } from "../docker/ScriptedDaemon.ts"
import { contract } from "./Contract.ts"

contract(
  "Docker, with a scripted daemon",
  Layer.provide(Sandbox.Sandbox.layerDocker(), ScriptedDaemon.layer),
  lacks
)
