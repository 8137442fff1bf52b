/** Text that a person has typed as JSON. `what` is its name in the sentence that refuses it. */
export function parseTyped(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new Error(`${what} is not JSON: ${(error as Error).message}`, { cause: error })
  }
}
