import { evalite } from "evalite"

evalite("Unscored", { data: [{ input: "a" }], task: (input) => input })
