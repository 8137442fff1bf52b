import { Answers, settle, type Seen } from '../stage.ts'
import type { Connection, Listener } from './race.ts'

export async function demonstrate(module: {
  Listener: new (upgrade: () => Promise<Connection>) => Pick<Listener, 'onSocket' | 'close'>
}): Promise<Seen> {
  let open = 0
  const upgrades = new Answers<Connection>()
  const listener = new module.Listener(upgrades.ask)
  const arriving = listener.onSocket()
  await settle()
  await listener.close()
  open++
  upgrades.answer({ destroy: () => void open-- })
  await arriving
  return { happened: open > 0, what: `${open} connections are open after close()` }
}
