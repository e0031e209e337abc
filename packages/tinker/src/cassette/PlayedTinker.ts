/** A backend played by a deck. */
import { Tinker } from "@effect-rl/core"
import type { TrainingClient } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Call from "./Call.ts"
import type { Deck, Made } from "./Deck.ts"
import * as PlayedSamplingClient from "./PlayedSamplingClient.ts"
import * as PlayedTrainingClient from "./PlayedTrainingClient.ts"

type TrainingMade = Made<TrainingClient.ModelInfo, TrainingClient.TrainingClient>

const infoOf = ({ info }: TrainingClient.TrainingClient) => info

const trainingClient = ({ answer: info, deck, id }: TrainingMade) => PlayedTrainingClient.make({ info, id, deck })

export const make = (deck: Deck<Tinker.Tinker["Service"]>): Tinker.Tinker["Service"] =>
  Tinker.Tinker.of({
    health: Effect.void,
    models: deck.answer(Call.models, (live) => live.models),
    capabilities: (model) => deck.answer(Call.capabilities(model), (live) => live.capabilities(model)),
    createLoraTrainingClient: (options) =>
      Effect.flatMap(
        deck.make(Call.createLoraTrainingClient(options), (live) => live.createLoraTrainingClient(options), infoOf),
        trainingClient
      ),
    createTrainingClientFromState: (path, options) =>
      Effect.flatMap(
        deck.make(
          Call.createTrainingClientFromState(path, options),
          (live) => live.createTrainingClientFromState(path, options),
          infoOf
        ),
        trainingClient
      ),
    createSamplingClient: (from) =>
      Effect.flatMap(
        deck.make(
          Call.createSamplingClient(from),
          (live) => live.createSamplingClient(from),
          ({ modelPath }) => ({ modelPath })
        ),
        ({ answer, deck }) =>
          PlayedSamplingClient.make({
            ...answer,
            weights: "baseModel" in from ? from.baseModel : from.modelPath,
            deck
          })
      )
  })
