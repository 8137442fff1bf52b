/** Loads texts; callers that ask for the same one meanwhile share the request. */
export class Texts {
  readonly #fetch: (name: string) => Promise<string>
  readonly #running = new Map<string, Promise<string>>()

  constructor(fetch: (name: string) => Promise<string>) {
    this.#fetch = fetch
  }

  load(name: string): Promise<string> {
    const known = this.#running.get(name)
    if (known !== undefined) return known
    const request = this.#fetch(name)
    this.#running.set(name, request)
    void request.finally(() => {
      this.#running.delete(name)
    })
    return request
  }

  /** The text has changed: later callers get the new one. */
  invalidate(name: string): void {
    this.#running.delete(name)
  }
}
