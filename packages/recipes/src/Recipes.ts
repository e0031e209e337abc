/** The recipes by name. */
import { arithmetic } from "./arithmetic/Arithmetic.ts"
import { plainArithmetic } from "./arithmetic/PlainArithmetic.ts"
import { calculator } from "./calculator/Calculator.ts"
import { ticTacToe } from "./games/SelfPlayTicTacToe.ts"
import { gsm8k } from "./gsm8k/Gsm8k.ts"
import { guessNumber } from "./guessNumber/GuessNumber.ts"
import { abstractions } from "./tutorial/Abstractions.ts"

export { abstractions, arithmetic, calculator, gsm8k, guessNumber, plainArithmetic, ticTacToe }
