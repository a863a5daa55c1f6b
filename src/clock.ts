/** Unix ms. An argument everywhere, so that fixtures can shift time; only the composition root reads the real one. */
export type Clock = () => number;
