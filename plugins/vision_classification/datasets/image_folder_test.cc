#include "plugins/vision_classification/datasets/image_folder.h"

#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plugins/vision_classification/images/pixels.h"
#include "trainer/data/loader.h"

namespace slipway::vision_classification {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kExamples[] =
    "plugins/vision_classification/images/testdata/golden/";

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest()
      : root_(fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  // A copy of an example under the name `path` below the root.
  void Put(const std::string& example, const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    fs::copy_file(kExamples + example, root_ / path);
  }

  void Write(const std::string& path, const std::string& bytes) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << bytes;
  }

  std::unique_ptr<ImageFolder> Open(Decode decode = Decode::kExact) {
    auto images = ImageFolder::Open(root_.string(), decode);
    EXPECT_TRUE(images.ok()) << images.status();
    return *std::move(images);
  }

  std::string ErrorOf(const data::Dataset& images, int64_t index) {
    const absl::StatusOr<data::Sample> sample = images.Get(index);
    return sample.ok() ? "OK" : std::string(sample.status().message());
  }

  const fs::path root_;
};

int64_t ClassOf(const data::Sample& sample) {
  return sample.target.tensor().item<int64_t>();
}

TEST_F(ImageFolderTest, NumbersClassesAndImagesByName) {
  Put("baseline.jpg", "n02/b.JPEG");
  Put("grey.png", "n02/a.png");
  Put("lossy.webp", "n01/z.webp");
  Put("cmyk.jpg", "n10/deep/er/x.jpg");
  Put("cmyk.jpg", "n10/deep-1/x.jpg");
  Put("cmyk.jpg", "n10/y.Jpg");
  Write("n10/readme.txt", "no image");
  Write("list.txt", "no class");
  const auto images = Open();
  EXPECT_THAT(images->ClassNames(), ElementsAre("n01", "n02", "n10"));
  std::vector<std::string> paths;
  std::vector<int64_t> classes;
  for (int64_t i = 0; i < images->size(); ++i) {
    paths.push_back(fs::path(images->Path(i)).lexically_relative(root_));
    const absl::StatusOr<data::Sample> sample = images->Get(i);
    ASSERT_TRUE(sample.ok()) << sample.status();
    classes.push_back(ClassOf(*sample));
    EXPECT_EQ(sample->image.sizes(), at::IntArrayRef({37, 45, 3}));
  }
  EXPECT_THAT(paths,
              ElementsAre("n01/z.webp", "n02/a.png", "n02/b.JPEG", "n10/y.Jpg",
                          "n10/deep-1/x.jpg", "n10/deep/er/x.jpg"));
  EXPECT_THAT(classes, ElementsAre(0, 1, 1, 2, 2, 2));
}

TEST_F(ImageFolderTest, ReadsWhatAFileHoldsWhateverItsName) {
  Put("rgb.png", "a/mislabelled.JPEG");
  Put("rgb.png", "a/right.png");
  const auto images = Open();
  EXPECT_TRUE(at::equal(images->Get(0)->image, images->Get(1)->image));
}

TEST_F(ImageFolderTest, TakesNamesThatAreNoText) {
  Put("grey.jpg", "caf\xe9/\xff\xfe.jpg");
  Write("caf\xe9/zz.jpg", "");
  const auto images = Open();
  ASSERT_EQ(images->size(), 2);
  EXPECT_THAT(images->ClassNames(), ElementsAre("caf\xe9"));
  EXPECT_EQ(ErrorOf(*images, 1), "OK");
  EXPECT_EQ(ErrorOf(*images, 0),
            "\"" + root_.string() + "/caf\\xe9/zz.jpg\": the file is empty");
}

TEST_F(ImageFolderTest, NamesTheFileThatIsBad) {
  Put("baseline.jpg", "a/0_good.jpg");
  Write("a/1_empty.jpg", "");
  Write("a/2_text.png", "<html>");
  Put("baseline.jpg", "a/3_short.jpg");
  fs::resize_file(root_ / "a/3_short.jpg", 900);
  fs::create_symlink("nowhere", root_ / "a/4_link.jpg");
  ASSERT_EQ(mkfifo((root_ / "a/5_pipe.jpg").c_str(), 0600), 0);
  Write("a/6_huge.jpg", "");
  fs::resize_file(root_ / "a/6_huge.jpg", int64_t{3} << 30);
  const auto images = Open();
  ASSERT_EQ(images->size(), 7);
  const std::string folder = "\"" + root_.string() + "/a/";
  EXPECT_EQ(ErrorOf(*images, 0), "OK");
  EXPECT_EQ(ErrorOf(*images, 1), folder + "1_empty.jpg\": the file is empty");
  EXPECT_THAT(ErrorOf(*images, 2),
              HasSubstr(folder + "2_text.png\": expected"));
  EXPECT_EQ(ErrorOf(*images, 3),
            folder + "3_short.jpg\": the JPEG ends before its image does");
  EXPECT_EQ(ErrorOf(*images, 4),
            folder + "4_link.jpg\": cannot open it: No such file or directory");
  EXPECT_EQ(ErrorOf(*images, 5),
            folder + "5_pipe.jpg\": expected a file, found something else");
  EXPECT_THAT(ErrorOf(*images, 6), HasSubstr("expected at most 1073741824"));
}

// Root may read everything; this thread may not while this exists.
class WithoutRootsRights {
 public:
  WithoutRootsRights() {
    syscall(SYS_capget, &header_, before_);
    __user_cap_data_struct less[] = {before_[0], before_[1]};
    less[0].effective &=
        ~((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH));
    syscall(SYS_capset, &header_, less);
  }
  ~WithoutRootsRights() { syscall(SYS_capset, &header_, before_); }
  WithoutRootsRights(const WithoutRootsRights&) = delete;
  WithoutRootsRights& operator=(const WithoutRootsRights&) = delete;

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2];
};

TEST_F(ImageFolderTest, NamesTheFileThatItMayNotRead) {
  Put("baseline.jpg", "a/secret.jpg");
  fs::permissions(root_ / "a/secret.jpg", fs::perms::none);
  const WithoutRootsRights heed_permissions;
  EXPECT_EQ(ErrorOf(*Open(), 0), "\"" + root_.string() +
                                     "/a/secret.jpg\": cannot open it: "
                                     "Permission denied");
}

TEST_F(ImageFolderTest, HandsFilesOnWhereDecodingCanWait) {
  Put("progressive.jpg", "a/0.jpg");
  Write("a/1.jpg", "no image");
  Put("progressive.jpg", "a/2.jpg");
  fs::resize_file(root_ / "a/2.jpg", 900);
  const auto exact = Open();
  const auto fast = Open(Decode::kFast);
  at::Tensor image = fast->Get(0)->image;
  ASSERT_TRUE(IsEncoded(image));
  ASSERT_TRUE(DecodeIfEncoded(image).ok());
  EXPECT_TRUE(at::equal(image, exact->Get(0)->image));
  EXPECT_EQ(ErrorOf(*fast, 1), ErrorOf(*exact, 1));
  // Its header is whole.
  at::Tensor cut = fast->Get(2)->image;
  EXPECT_EQ(std::string(DecodeIfEncoded(cut).message()), ErrorOf(*exact, 2));
}

TEST_F(ImageFolderTest, LeavesBadFilesOutWhereTheLoaderSays) {
  for (const char* name : {"0", "2", "4"}) {
    Put("baseline.jpg", std::string("a/") + name + ".jpg");
  }
  Write("a/1.jpg", "");
  Write("a/3.jpg", "\xff\xd8\xff\xe0 no JPEG");
  for (const bool skip : {true, false}) {
    data::LoaderParts parts;
    parts.dataset = Open();
    data::LoaderOptions options = {.batch_size = 5, .num_workers = 2};
    if (skip) options.on_bad_sample = data::LoaderOptions::OnBadSample::kSkip;
    data::Loader loader(std::move(parts), options);
    const std::unique_ptr<data::Epoch> epoch = loader.Begin(0);
    const auto batch = epoch->Next();
    ASSERT_EQ(batch.ok(), skip) << batch.status();
    if (!skip) {
      EXPECT_THAT(std::string(batch.status().message()), HasSubstr("a/1.jpg"));
      continue;
    }
    EXPECT_EQ((*batch)->valid, 3);
    const std::vector<std::string> skipped = epoch->SkippedSamples();
    ASSERT_EQ(skipped.size(), 2u);
    EXPECT_THAT(skipped[0], HasSubstr("a/1.jpg\": the file is empty"));
    EXPECT_THAT(skipped[1], HasSubstr("a/3.jpg\": the JPEG "));
  }
}

TEST_F(ImageFolderTest, SaysWhatIsWrongWithTheFolder) {
  const auto error = [&](const fs::path& root) {
    return std::string(
        ImageFolder::Open(root.string(), Decode::kExact).status().message());
  };
  const std::string root = "\"" + root_.string();
  EXPECT_EQ(error(root_ / "none"), "there is no folder " + root + "/none\"");
  EXPECT_EQ(error(root_), "there is no folder in " + root +
                              "\", expected one for each class");
  Put("grey.jpg", "a/x.jpg");
  Write("b/x.txt", "");
  fs::create_directories(root_ / "c");
  EXPECT_EQ(error(root_),
            "2 folders in " + root +
                "\" have no image: \"b\", \"c\"; each folder is a class, "
                "expected files .jpg .jpeg .png .ppm .bmp .pgm .tif .tiff "
                ".webp");
}

}  // namespace
}  // namespace slipway::vision_classification
