/** `heddle analyze --lsp`: findings in an editor, over standard input and output. */
import { analyze, AnalysisCache, framed, LanguageServer, MessageReader } from '@heddle/analyze'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { readVersion } from '../own-version.ts'
import type { Session } from './session.ts'

/**
 * Serves one editor until it says `exit`, or closes the stream.
 *
 * *Cancellation*: by `exit` and by the end of the input; an analysis that is under way ends between files.
 */
export async function serveLsp(session: Session): Promise<ExitCode> {
  const cache = new AnalysisCache()
  const { stdin, stdout, stderr } = process
  const server = new LanguageServer({
    version: await readVersion(),
    send: (message) => void stdout.write(framed(message)),
    async run(overlays, signal) {
      const selection = await session.select()
      const options = session.optionsFor(selection)
      const analysis = await analyze({ ...options, overlays, signal, cache })
      const { report } = await session.judge(analysis, selection, await session.baseline())
      return {
        root: session.root,
        findings: report.findings.map(({ finding }) => finding),
        lineOf: (file, line) => report.source.of(file)?.line(line) ?? '',
      }
    },
  })
  const gone = Promise.withResolvers<void>()
  const reader = new MessageReader({
    onMessage(message) {
      server.handle(message)
      if (server.state === 'gone') gone.resolve()
    },
    onError(text, isFinal) {
      stderr.write(`${text}\n`)
      if (isFinal) gone.resolve()
    },
  })
  const read = (chunk: Buffer): void => reader.push(chunk)
  const end = (): void => gone.resolve()
  stdin.on('data', read).once('end', end).once('error', end)
  stdout.once('error', end)
  try {
    await gone.promise
  } finally {
    stdin.off('data', read).off('end', end).off('error', end)
    stdin.pause()
    server.handle({ jsonrpc: '2.0', method: 'exit' })
    await server.waitIdle()
    await cache.close()
  }
  return server.exitCode === 0 ? exitCodes.ok : exitCodes.failed
}
