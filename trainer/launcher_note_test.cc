#include "trainer/launcher_note.h"

#include "gtest/gtest.h"

namespace slipway {
namespace {

using recipe::Node;

Node RecipeWith(Node multi_gpu, Node num_gpus) {
  Node recipe = Node::Map();
  recipe.Set("multi_gpu", std::move(multi_gpu));
  recipe.Set("num_gpus", std::move(num_gpus));
  return recipe;
}

std::string NoteFor(Node multi_gpu, Node num_gpus) {
  Problems problems;
  NoteLauncher(RecipeWith(std::move(multi_gpu), std::move(num_gpus)),
               "cifar10_resnet", problems);
  return FormatProblems(problems);
}

TEST(ProcessesAskedFor, ReadsSuperGradientsWords) {
  EXPECT_EQ(ProcessesAskedFor(RecipeWith(Node::String("DDP"), Node::Int(8))),
            8);
  EXPECT_EQ(ProcessesAskedFor(RecipeWith(Node::String("AUTO"), Node())), 0);
  EXPECT_EQ(ProcessesAskedFor(RecipeWith(Node::Bool(false), Node::Int(8))), 1);
  EXPECT_EQ(ProcessesAskedFor(Node::Map()), 1);
}

TEST(LauncherNote, NamesTheCommandOfSeveralProcesses) {
  EXPECT_EQ(NoteFor(Node::String("DDP", {"x.yaml", 3, 12}), Node::Int(4)),
            "note: the recipe asks for 4 processes; this is one\n"
            "  where:  x.yaml:3:12\n"
            "  hint:   bazel run //launcher -- --num_processes=recipe -- "
            "--recipe=cifar10_resnet\n");
  EXPECT_NE(NoteFor(Node::String("AUTO"), Node()), "");
}

TEST(LauncherNote, IsSilentForOneProcess) {
  EXPECT_EQ(NoteFor(Node::Bool(false), Node::Int(4)), "");
  EXPECT_EQ(NoteFor(Node::String("Off"), Node::Int(4)), "");
  EXPECT_EQ(NoteFor(Node(), Node()), "");
  EXPECT_EQ(NoteFor(Node::String("DDP"), Node::Int(1)), "");
}

}  // namespace
}  // namespace slipway
