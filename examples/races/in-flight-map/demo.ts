import { Answers, settle, type Seen } from '../stage.ts'
import type { Texts } from './race.ts'

export async function demonstrate(module: {
  Texts: new (fetch: () => Promise<string>) => Pick<Texts, 'load' | 'invalidate'>
}): Promise<Seen> {
  const server = new Answers<string>()
  const texts = new module.Texts(server.ask)
  void texts.load('terms')
  texts.invalidate('terms')
  void texts.load('terms')
  server.answer('old')
  await settle()
  // The second request is still running: this one should share it.
  void texts.load('terms')
  await settle()
  return { happened: server.calls > 2, what: `${server.calls} requests where 2 are needed` }
}
