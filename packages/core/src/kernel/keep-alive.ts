/** Longer than any process lives, and still a delay that Node can keep. */
const longest = 2 ** 31 - 1

/**
 * Keeps the process alive until disposed: for waiting for something from outside, such as a signal, whose
 * listener alone does not. It is not part of the clock: its timer does nothing.
 */
export function keepAlive(): Disposable {
  const native = setInterval(() => undefined, longest)
  return { [Symbol.dispose]: () => clearInterval(native) }
}
