const attempts = 3

/** A port that was free may be taken when the server wants it: another is tried then. */
export async function portsTried<T>(start: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(attempt)
    } catch (error) {
      const isTaken = error instanceof Error && /address already in use/i.test(error.message)
      if (!isTaken || attempt === attempts) throw error
    }
  }
}
