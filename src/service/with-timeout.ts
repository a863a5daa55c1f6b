/** Rejects when the work takes longer; the work itself goes on. Whatever another service does not answer is tried again. */
export function withTimeout<T>(work: Promise<T>, ms = 5_000, message = "It did not answer in time."): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
