/** The peer in FastAPI. */
import { fileURLToPath } from 'node:url'
import type { SurroundOptions, Surroundings } from '../../harness/row.ts'
import { fastApiNeed, provideFastApi, startPythonServer } from '../../servers/fastapi.ts'
import type { MeasuredServer } from './measured-server.ts'
import { steps } from './work.ts'

export function startFastApi(): Promise<MeasuredServer> {
  const script = fileURLToPath(new URL('servers/fastapi_app.py', import.meta.url))
  return startPythonServer(script, String(steps))
}

export async function surround(
  wanted: ReadonlySet<string>,
  options: SurroundOptions,
): Promise<Surroundings> {
  const reason = wanted.has(fastApiNeed) ? await provideFastApi(options) : undefined
  return {
    environment: {},
    missing: new Map(reason === undefined ? [] : [[fastApiNeed, reason]]),
    notes: [],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}
