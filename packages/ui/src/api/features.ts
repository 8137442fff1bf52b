/** Which routes the server has: views and buttons without theirs are not shown. */
import { signal } from '@preact/signals'
import { call } from './client.ts'

/** `POST /runs/{id}/pause`. Undefined until the server has answered. */
const routes = signal<ReadonlySet<string> | undefined>(undefined)

interface OpenApi {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Asks once; a server that cannot be asked now is taken to have everything. */
export async function loadFeatures(): Promise<void> {
  try {
    const { paths = {} } = (await call('GET /openapi.json')) as OpenApi
    routes.value = new Set(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    )
  } catch {
    // It is shown by the view that asks for something.
  }
}

export function has(route: string): boolean {
  return routes.value === undefined || routes.value.has(route)
}
