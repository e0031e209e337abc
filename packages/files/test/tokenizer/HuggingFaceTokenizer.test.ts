import { NodeFileSystem, NodePath } from "@effect/platform-node"
