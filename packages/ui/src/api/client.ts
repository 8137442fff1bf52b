/** The server that sent this page. Everything the dashboard asks goes through here. */
import { connect, type ServerEvent } from '@heddle/server/client'

interface CallOptions {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** The folder above the page: `https://tools.example/heddle/ui/` talks to `https://tools.example/heddle`. */
const serverUrl: string = new URL('..', document.baseURI).href.replace(/\/$/, '')

const client = connect({ url: serverUrl })

/**
 * Calls a route by its name in the table. The types of answers are the server's own; views name them, so that a page that
 * is drawn from one answer does not depend on how the table is put together.
 */
export async function call<T>(route: string, options: CallOptions = {}): Promise<T> {
  const { body } = await client.call(route as never, options as never)
  return body
}

/** Events of a stream, from after the last known one; the client connects again by itself. */
export function events(
  route: string,
  options: CallOptions & {
    readonly lastEventId?: string
    readonly onState: (state: 'open' | 'lost') => void
  },
): AsyncGenerator<ServerEvent, void, undefined> {
  return client.events(route as never, options as never)
}

/** The address of a route for links and downloads. */
export function hrefOf(path: string): string {
  return `${serverUrl}${path}`
}
