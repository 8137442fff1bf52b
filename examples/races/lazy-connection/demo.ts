import { Answers, settle, type Seen } from '../stage.ts'
import type { Database, Session } from './race.ts'

export async function demonstrate(module: {
  Database: new (open: () => Promise<Session>) => Pick<Database, 'session' | 'close'>
}): Promise<Seen> {
  let open = 0
  const connect = (): Session => {
    open++
    return { end: () => void open-- }
  }
  const answers = new Answers<Session>()
  const database = new module.Database(answers.ask)
  const first = database.session()
  const second = database.session()
  await settle()
  while (answers.open > 0) answers.answer(connect())
  await Promise.all([first, second])
  await database.close()
  return {
    happened: open > 0,
    what: `${answers.calls} sessions were opened for two callers, ${open} left open after close()`,
  }
}
