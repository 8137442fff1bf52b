import type { Seen } from '../stage.ts'
import type { Tickets } from './race.ts'

export async function demonstrate(module: {
  Tickets: new (left: number) => Tickets
}): Promise<Seen> {
  const tickets = new module.Tickets(1)
  let sold = 0
  // A buyer of a ticket tries to get one for a friend.
  tickets.once('sold', () => {
    if (tickets.sell()) sold++
  })
  if (tickets.sell()) sold++
  return { happened: sold > 1, what: `${sold} of 1 ticket sold, ${tickets.left} left` }
}
