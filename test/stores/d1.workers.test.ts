import { describeTaskStore } from "./contract";
import { driven, emptyD1 } from "./d1";

describeTaskStore("the D1 store", async (parts) => {
  const { store, drive } = await emptyD1(parts);
  return driven(store, drive);
});
