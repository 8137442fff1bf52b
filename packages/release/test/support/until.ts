/** Lets the event loop turn until something is so: for what real sockets do, which no clock of ours decides. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((done) => setImmediate(done))
}
