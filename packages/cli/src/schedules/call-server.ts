/** Calls a server for a command, prints the answer, and sets the exit code. */
import { CallError, connect, type Client } from '@heddle/server/client'
import { exitCodes } from '../exit-codes.ts'
import { errorRecord } from '../output/error-record.ts'
import { Output } from '../output/output.ts'
import { printable } from '../text/terminal-text.ts'

export interface ServerSettings {
  readonly server: string
  readonly token: string | undefined
  readonly json: boolean
}

export interface ServerContext {
  readonly client: Client
  /** A line for people. */
  readonly line: (text: string) => void
  /** The one object for programs. */
  readonly answer: (object: object) => void
}

/** *Cancellation*: none; it waits for the answer of the server. */
export async function withServer(
  { server, token, json }: ServerSettings,
  work: (context: ServerContext) => Promise<void>,
): Promise<void> {
  const out = new Output(process.stdout)
  const client = connect({ url: server, ...(token !== undefined && { token }) })
  try {
    await work({
      client,
      line: (text) => {
        if (!json) out.line(printable(text))
      },
      answer: (object) => {
        if (json) out.line(JSON.stringify({ ok: true, ...object }))
      },
    })
  } catch (error) {
    const problem = describe(error, server)
    new Output(process.stderr).line(`heddle: ${printable(problem.message)}`)
    if (json) out.line(JSON.stringify({ ok: false, error: errorRecord(problem) }))
    process.exitCode = exitCodes.usage
  }
}

function describe(error: unknown, server: string): Error {
  if (error instanceof CallError) return error
  const { cause } = error as { cause?: { code?: string; message?: string } }
  const why = cause?.code ?? cause?.message ?? (error as Error).message
  return new Error(`The server at ${server} cannot be reached (${why}). Is it running?`)
}
