export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** A function makes the body again for each try. */
  readonly body?: string | Uint8Array | (() => AsyncIterable<Uint8Array>)
  /** Its purpose, in messages. The method and the address when absent. */
  readonly action?: string
  /** Whether doing it twice is the same as doing it once. GET and HEAD always are. */
  readonly idempotent?: boolean
  /** Milliseconds without progress in either direction. Default 30 s. */
  readonly timeout?: number
  /** Largest answer. Default 16 MiB. */
  readonly maxBytes?: number
  /** Gets the pieces of an answer with status 200, which is then returned without its body. */
  readonly sink?: (piece: Uint8Array) => void
}

export interface HttpAnswer {
  readonly status: number
  /** Keyed by name in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** For messages: never with credentials that an address may contain. */
export function actionOf({ action, method, url }: HttpRequest): string {
  if (action !== undefined) return action
  const { pathname } = new URL(url)
  return `${method} ${pathname}`
}

export function isRead({ method }: HttpRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}
