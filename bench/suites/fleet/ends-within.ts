/**
 * Rejects when a wait takes longer than this many milliseconds: a run of the bench ends with a result or with an error
 * that says where.
 */
export async function endsWithin<T>(ms: number, what: string, wait: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new Error(`${what} took longer than ${Math.round(ms / 1_000)} s`))
  }, ms)
  // When it is late, its caller does not wait for it any more.
  wait.catch(() => undefined)
  try {
    return await Promise.race([wait, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
