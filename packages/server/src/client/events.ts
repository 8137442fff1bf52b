/**
 * Server-sent events over `fetch`: read, and resumed after a broken connection with `Last-Event-ID`.
 *
 *   asking ── 200 ─▶ reading ── the connection ends ─▶ pausing ─▶ asking (with the last id)
 *     ├── an error that can be cured by trying again ─▶ pausing
 *     └── another error ─▶ thrown            any ── the signal ─▶ ended
 *
 * E1. An event is given to the caller once: the last id is that of the last event that was given out whole.
 * E2. Pauses grow from one second to 30, or are as long as the server says (`retry:`, `retry_after_ms`).
 */
export interface ServerEvent {
  /** Where to resume; empty when the server gave none. */
  readonly id: string
  /** `message` when the server gave none. */
  readonly event: string
  readonly data: string
}

export interface EventOptions {
  readonly signal?: AbortSignal
  /** The last event that is known already. */
  readonly lastEventId?: string
  /** Called when a connection is open, and when it is lost. */
  readonly onState?: (state: 'open' | 'lost') => void
  /** Waits this many milliseconds, or until the signal. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

interface Refusal extends Error {
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
}

const shortestPause = 1_000
const longestPause = 30_000

export async function* followEvents(
  open: (headers: Readonly<Record<string, string>>) => Promise<Response>,
  errorOf: (response: Response) => Promise<Refusal>,
  options: EventOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  const { signal, onState, pause = pauseFor } = options
  let last = options.lastEventId ?? ''
  let delay = shortestPause
  const isOver = (): boolean => signal?.aborted === true
  while (!isOver()) {
    let asked: number | undefined
    try {
      const response = await open({
        accept: 'text/event-stream',
        ...(last !== '' && { 'last-event-id': last }),
      })
      // The stream is complete: there is nothing to resume.
      if (response.status === 204) return
      if (response.status >= 400) {
        const refusal = await errorOf(response)
        if (!refusal.retryable) throw refusal
        asked = refusal.retryAfterMs
      } else {
        onState?.('open')
        delay = shortestPause
        for await (const found of readEvents(response)) {
          if ('retry' in found) asked = found.retry
          else {
            if (found.id !== '') last = found.id
            yield found
            if (found.event === 'end') return
          }
        }
        onState?.('lost')
      }
    } catch (error) {
      if (isOver()) return
      if (!isConnectionError(error)) throw error
      onState?.('lost')
    }
    await pause(asked ?? delay, signal)
    delay = Math.min(2 * delay, longestPause)
  }
}

/** What `fetch` throws when there is no connection, or it breaks. */
function isConnectionError(error: unknown): boolean {
  return (
    error instanceof TypeError || (error as { name?: unknown } | undefined)?.name === 'AbortError'
  )
}

async function pauseFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
}

type Found = ServerEvent | { readonly retry: number }

/** The events of an answer, and the pauses that it asks for. */
export async function* readEvents(response: Response): AsyncGenerator<Found, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let event = { id: '', event: 'message', data: [] as string[] }
  if (response.body === null) return
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true })
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        const { id, event: name, data } = event
        if (data.length > 0) yield { id, event: name, data: data.join('\n') }
        // The id stays for the events behind it.
        event = { id, event: 'message', data: [] }
        continue
      }
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (field === 'data') event.data.push(value)
      else if (field === 'event') event.event = value
      else if (field === 'id') event.id = value
      else if (field === 'retry' && /^\d+$/.test(value)) yield { retry: Number(value) }
    }
  }
}
