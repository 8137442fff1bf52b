import { Answers, settle, type Seen } from '../stage.ts'
import type { Cart } from './race.ts'

export async function demonstrate(module: {
  Cart: new (priceOf: () => Promise<number>) => Pick<Cart, 'add' | 'total'>
}): Promise<Seen> {
  const shop = new Answers<number>()
  const cart = new module.Cart(shop.ask)
  const adding = [cart.add('bread'), cart.add('cheese')]
  await settle()
  shop.answer(3)
  shop.answer(5)
  await Promise.all(adding)
  return { happened: cart.total !== 8, what: `3 + 5 = ${cart.total}` }
}
