/** The event loop, the load, the shards and the inventory of the server, as views ask for them. */
import type { InventoryView, LoadView, LoopView, ServersView } from '@heddle/server/client'
import { call } from './client.ts'

export type { InventoryView, LoadView, LoopView, ServersView }

export function readLoop(signal: AbortSignal): Promise<LoopView> {
  return call('GET /loop', { signal })
}

export function readLoad(signal: AbortSignal): Promise<LoadView> {
  return call('GET /load', { signal })
}

export function readServers(signal: AbortSignal): Promise<ServersView> {
  return call('GET /servers', { signal })
}

export function readInventory(signal: AbortSignal): Promise<InventoryView> {
  return call('GET /inventory', { signal })
}
