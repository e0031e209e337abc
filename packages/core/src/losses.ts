/** Losses as expressions: their terms, their graphs and what an update minimises. Advanced. */

/** A loss as one typed expression over the log-probabilities of one datum. */
export * as LossExpression from "./losses/LossExpression.ts"
/** Terms of a loss expression: numbers and conditions per token, or one per sequence. */
export * as LossTerm from "./losses/LossTerm.ts"
/** A loss of one datum as data: the graph of torch operations that the Tinker SDK (0.38) records from a Python function with `create_custom_loss`. */
export * as LossGraph from "./losses/LossGraph.ts"
/** Computes the graphs of loss expressions, with the gradient. */
export * as LossProgram from "./losses/LossProgram.ts"
/** The losses that a name chooses: one table of their options and how each is made. */
export * as NamedLoss from "./rl/NamedLoss.ts"
/** What an update minimises over the tokens that credit was given for. */
export * as Objective from "./rl/Objective.ts"
/** The KL penalty of a run: its settings, and the weights that they name. */
export * as KlPenalty from "./rl/KlPenalty.ts"
/** Direct preference optimisation: −log σ(β·[(c − c_ref) − (r − r_ref)]), averaged over pairs, where c and r are the log-probabilities of the chosen and the rejected response, and c_ref and r_ref those of the reference policy (Rafailov et al., 2023). */
export * as DpoLoss from "./preference/DpoLoss.ts"
