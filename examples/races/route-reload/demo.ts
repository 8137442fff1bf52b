import { Answers, settle, type Seen } from '../stage.ts'
import type { ReadRoutes, Routes } from './race.ts'

export async function demonstrate(module: {
  Routes: new (read: ReadRoutes) => Pick<Routes, 'reload' | 'resolve'>
}): Promise<Seen> {
  const file = new Answers<readonly (readonly [string, string])[]>()
  const routes = new module.Routes(file.ask)
  const starting = routes.reload()
  file.answer([['/login', 'auth']])
  await starting
  const reloading = routes.reload()
  await settle()
  const during = routes.resolve('/login')
  file.answer([['/login', 'auth']])
  await reloading
  return {
    happened: during === undefined,
    what: `a request for /login during the reload: ${during === undefined ? '404' : during}`,
  }
}
